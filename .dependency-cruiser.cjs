/** The arrows of the design: services -> packages -> libraries; domain imports only domain; no cycles. */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-service-imports-another',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    { name: 'no-package-imports-a-service', severity: 'error', from: { path: '^packages/' }, to: { path: '^services/' } },
    {
      name: 'domain-is-pure',
      comment:
        'Domain code imports only domain code, the tenant, the fields of an agent, and pure functions, as hashing, text without case and the values that differ.',
      severity: 'error',
      from: { path: ['/src/domain/', '/src/[^/]+/domain/'], pathNot: '\\.test\\.ts$|/testing/' },
      to: {
        pathNot: [
          '/src/domain/',
          '/src/[^/]+/domain/',
          '/src/shared/answer.ts$',
          '^packages/contracts/src/agents/fields.ts$',
          '^packages/contracts/src/callers/principal.ts$',
          '^packages/contracts/src/changes.ts$',
          '^packages/contracts/src/strings.ts$',
          '^crypto$',
          '^node:crypto$',
        ],
      },
    },
    {
      name: 'statement-gates-touch-no-database',
      comment:
        'The gates judge and rewrite a statement in a thread without a database: from the scope, with the parser, the deparser and a cache.',
      severity: 'error',
      from: { path: '^packages/business-data/src/(gates|scope)/', pathNot: '\\.test\\.ts$' },
      to: {
        pathNot: [
          '^packages/business-data/src/(gates|scope)/',
          '^packages/business-data/src/(failure|newest)\\.ts$',
          '^packages/contracts/src/agents/data-scope\\.ts$',
          'node_modules/(libpg-query|pgsql-deparser|lru-cache)/',
        ],
      },
    },
    {
      name: 'modules-of-agents-meet-at-their-entries',
      comment: 'A module of the agents service reaches another one through its index.ts, or through its pure domain.',
      severity: 'error',
      from: { path: '^services/agents/src/(agents|answers|conversations|data-sources)/', pathNot: '\\.test\\.ts$' },
      to: {
        path: '^services/agents/src/(agents|answers|conversations|data-sources|store)/',
        pathNot: ['^services/agents/src/$1/', '^services/agents/src/[^/]+/index\\.ts$', '^services/agents/src/[^/]+/domain/'],
      },
    },
    {
      name: 'only-tests-use-the-testkit',
      severity: 'error',
      from: { pathNot: '(\\.test\\.ts$|/test/|^test/|^bench/|^packages/testkit/)' },
      to: { path: '^packages/testkit/' },
    },
    {
      name: 'pages-share-only-types-and-scopes',
      comment: 'What runs in a browser imports nothing of the service but the types of the API and the notation of data scopes.',
      severity: 'error',
      from: { path: '^services/[^/]+/web/' },
      to: {
        path: '^(packages|services|bench|test)/',
        pathNot: ['node_modules/', '^services/[^/]+/web/', '^packages/client/src/', '^packages/contracts/src/agents/data-scope\\.ts$'],
      },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^\\.cache', 'packages/(contracts|client)/src/gen'] },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
