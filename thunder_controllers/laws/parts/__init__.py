"""What laws share: adaptation, pose error, redundancy, friction, gains."""
