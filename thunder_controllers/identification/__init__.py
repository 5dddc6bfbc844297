"""What a motion tells of a link's inertial parameters: motions that tell much, and payloads with what is known of them."""
