# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 847f94c6c94a314387de17f64e85033a37d08c8370f429d286aaaeab50e009b3
