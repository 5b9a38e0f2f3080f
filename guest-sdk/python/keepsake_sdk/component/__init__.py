"""What a component begins with. The build adds the plugin's own module."""
