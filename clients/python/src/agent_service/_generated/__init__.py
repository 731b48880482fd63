# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 cfa6d431474c4b9a6aadb7621d600ac20963fd2ba1fa1bc6db674a5a8920b2dc
