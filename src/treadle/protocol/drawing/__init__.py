"""Drawings of a protocol: tables, Mermaid, SVG, pages."""
