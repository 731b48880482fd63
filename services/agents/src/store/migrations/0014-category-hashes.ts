import { migration, type NamedMigration } from '@agent-service/store';

// An entry of an index has 2,704 bytes at most, and a category of 2,000 letters may have 8,000. Processes of the version before read the
// index of the whole list instead.
const former = 'drop index agents_category_index; drop index agents_category_status_index;';

// The hash includes the tenant, and the status has another collation than in agents_status_index, so that the planner uses no other index.
const category = `hashtextextended(organization_id || ' ' || environment || ' ' || category, 0)`;
const order = 'created_at desc, id desc';

export const categoryHashes: NamedMigration = {
  ...migration('0014-category-hashes', former),
  // An interrupted build leaves an invalid index.
  preparation: [
    'drop index concurrently if exists agents_category_hash_index',
    `create index concurrently agents_category_hash_index on agents ((${category}), ${order})`,
    'drop index concurrently if exists agents_category_hash_status_index',
    `create index concurrently agents_category_hash_status_index on agents ((${category}), status collate "C", ${order})`,
  ],
};
