/** What a PostgreSQL is for: `durable` keeps what people entrust to it, `throwaway` is for tests and fast. */
export type PostgresProfile = 'durable' | 'throwaway';

export const initOptions: Record<PostgresProfile, string[]> = {
  durable: ['--auth=scram-sha-256'],
  throwaway: ['--auth=trust', '--no-sync'],
};

/** PostgreSQL's built-in locale sorts by code point and knows the letters of all languages, the same on every machine. */
export const localeOptions = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];

const common = { max_connections: '200', unix_socket_directories: '', listen_addresses: '127.0.0.1' };

export const serverSettings: Record<PostgresProfile, Record<string, string>> = {
  durable: { ...common },
  throwaway: {
    ...common,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    wal_level: 'minimal',
    max_wal_senders: '0',
    autovacuum_naptime: '60s',
  },
};
