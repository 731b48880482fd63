# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 dc85ced2c1d5578038504411d557045140aa4081f6bca6ef17caa2d40f980edf
