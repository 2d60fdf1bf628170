"""The PowerPoint reader: slides in the order of their shapes, with charts, diagrams, notes and comments."""
