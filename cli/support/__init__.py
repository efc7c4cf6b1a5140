"""What several commands share: flags, folders, what a person sees.

May import: `pipeline`, `albert_tf`, inside functions where they are heavy.
"""
