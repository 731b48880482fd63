import { join } from 'node:path';

const repository = join(import.meta.dirname, '..', '..');

/** The client is taken from this repository, as TypeScript; an application of yours installs it as a package. */
export default {
  transpilePackages: ['@agent-service/client'],
  outputFileTracingRoot: repository,
  turbopack: { root: repository },
};
