"""Exported models on an emulated Cortex-M7."""
