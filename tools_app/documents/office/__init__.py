"""Parts that Word and PowerPoint files share: the package, pictures, charts, diagrams, equations and symbols."""
