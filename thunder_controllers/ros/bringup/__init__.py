"""What runs once and ends, before the plugin is loaded."""
