"""Run folders: resumable stores, atomic files, locks, progress, provenance."""
