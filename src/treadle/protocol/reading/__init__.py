"""From files to the model: YAML with places, includes, overlays, a strict reading, clones."""
