# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 c075628308097edee970ac7c8a8a4ff39ff6fc3387251b609f71b7ca4ed02cf5
