"""Fused convolution."""
