"""Everything is in the plugin that the project installs (`roofline.plugin`); pytester tests the plugin itself."""

pytest_plugins = ["pytester"]
