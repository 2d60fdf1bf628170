"""Slides as a page that needs nothing beside itself, or as a PowerPoint file."""
