"""Slides as one self-contained HTML page, or as a PowerPoint file."""
