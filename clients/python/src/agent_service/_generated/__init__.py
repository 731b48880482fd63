# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 4d314062f5aa64d3d43843fe16336cbb6e72a42a099a8bb4e9f48e8a87722fd6
