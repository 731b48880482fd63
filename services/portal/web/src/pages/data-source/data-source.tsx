import type { DataSourceTable } from '@agent-service/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Database, Plug, PlugZap, RefreshCw, Unplug } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { dataSourceQuery } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Badge, Empty, Failure, Notice, notify, Skeleton } from '../../ui/feedback.tsx';
import { SearchBox } from '../../ui/filters.tsx';
import { formatNumber, plural, Time } from '../../ui/format.tsx';
import { Fact, Page, Section } from '../../ui/page.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { ColumnNote, useTableSearch } from '../agents/scope-picker.tsx';
import { ConnectDialog, TestOutcome } from './connect-dialog.tsx';
import { type Connection, connectionQuery, disconnect, encryptionOf, testConnection } from './connection-data.ts';

export function DataSourcePage() {
  const environment = useEnvironment();
  const { data, error, refetch } = useQuery(dataSourceQuery(environment));
  const { data: connection, error: connectionError, refetch: refetchConnection } = useQuery(connectionQuery(environment));
  const [dialog, setDialog] = useState<'connect' | 'disconnect'>();
  const isConnected = data !== undefined && data.status !== 'none';
  const openConnect = () => setDialog('connect');
  return (
    <Page
      title="Data source"
      description={`The PostgreSQL database that agents of the ${environment} environment answer from. Each agent reads only the tables and columns in its own scope.`}
      actions={
        isConnected && (
          <>
            <Button icon={RefreshCw} onClick={openConnect}>
              Replace
            </Button>
            <Button icon={Unplug} onClick={() => setDialog('disconnect')}>
              Disconnect
            </Button>
          </>
        )
      }
    >
      <div className="stack loose">
        {error && !data && <Failure cause={error} onRetry={() => void refetch()} />}
        {data?.status === 'none' && (
          <div className="table-frame">
            <Empty
              icon={Database}
              title="No database is connected"
              actions={
                <Button variant="primary" icon={Plug} onClick={openConnect}>
                  Connect a database
                </Button>
              }
            >
              Connect a PostgreSQL database with an account that can only read what agents may see. Its password is stored encrypted and
              never shown again.
            </Empty>
          </div>
        )}
        {data?.status !== 'none' && !(error && !data) && (
          <>
            {connectionError && connection === undefined ? (
              <Failure cause={connectionError} onRetry={() => void refetchConnection()} />
            ) : (
              <ConnectionCard connection={connection} />
            )}
            <Connected source={data} />
          </>
        )}
      </div>
      {dialog === 'connect' && <ConnectDialog connection={isConnected ? connection : null} onClose={() => setDialog(undefined)} />}
      {dialog === 'disconnect' && <DisconnectDialog name={connection?.database ?? environment} onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

function DisconnectDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const confirm = async () => {
    await disconnect(environment);
    await client.invalidateQueries({ queryKey: [environment, 'data-source'] });
    notify('The database is disconnected.');
  };
  return (
    <ConfirmDialog title="Disconnect the database?" action="Disconnect" name={name} onConfirm={confirm} onClose={onClose}>
      Agents of the {environment} environment then answer without data. Their scopes stay as they are.
    </ConfirmDialog>
  );
}

function ConnectionCard({ connection }: { connection: Connection | null | undefined }) {
  const environment = useEnvironment();
  const test = useMutation({ mutationFn: () => testConnection(environment) });
  const isKnown = connection?.connected_by === 'user';
  const facts: [string, ReactNode][] = isKnown
    ? [
        ['Server', <span key="server" dir="auto">{`${connection.host}:${connection.port}`}</span>],
        ['Database', connection.database],
        ['User', connection.user],
        ['Encryption', encryptionOf(connection)?.label ?? connection.tls],
        ['Connected', <Time key="time" iso={connection.updated_at} />],
      ]
    : [
        ['Server', connection === undefined ? <Skeleton key="skeleton" width="14rem" /> : 'Connected by an operator of the service'],
        [
          'Connected',
          connection === undefined ? <Skeleton key="skeleton" width="6rem" /> : <Time key="time" iso={connection?.updated_at} />,
        ],
      ];
  return (
    <div className="card stack">
      <div className="row spread">
        <h2>Connection</h2>
        <Button icon={PlugZap} busy={test.isPending} onClick={() => test.mutate()}>
          Test the connection
        </Button>
      </div>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <Fact key={name} label={name}>
            {value}
          </Fact>
        ))}
      </dl>
      <TestOutcome {...test} />
    </div>
  );
}

type Source = NonNullable<Awaited<ReturnType<NonNullable<ReturnType<typeof dataSourceQuery>['queryFn']>>>>;

function Connected({ source }: { source: Source | undefined }) {
  const { search, setSearch, text, shown, others } = useTableSearch(source?.tables);
  return (
    <div className="stack loose">
      {source?.status === 'unreadable' && <Notice tone="danger">The database cannot be read: {source.reason}</Notice>}
      <RoleGate gate={source?.role_gate} isLoading={!source} />
      <Section title="Tables">
        <div className="filters">
          <SearchBox label="Search tables and columns" value={search} onChange={setSearch} />
        </div>
        <Table
          label="Tables"
          columns={columns}
          rows={shown}
          rowKey={({ schema, name }) => `${schema}.${name}`}
          empty={
            <Empty icon={Database} title={text ? 'No table or column matches' : 'The account can read no table'}>
              {text ? 'Search for a part of a name.' : 'Grant it SELECT on the tables and views that agents may read.'}
            </Empty>
          }
        />
        {others && <p className="pager">{others}</p>}
      </Section>
    </div>
  );
}

function RoleGate({ gate, isLoading }: { gate: Source['role_gate'] | undefined; isLoading: boolean }) {
  if (!gate && !isLoading) return null;
  return (
    <div className="card">
      <div className="row">
        <h2>Enforced by the database</h2>
        {gate && <Badge tone={gate.active ? 'success' : 'warning'}>{gate.active ? 'Active' : 'Not active'}</Badge>}
      </div>
      <p className="muted wrap">
        {gate?.active || isLoading
          ? 'Statements run under a database role that holds only the columns in the agent’s scope, in addition to the checks of this service.'
          : `Statements are checked by this service, and not by a database role of their own: ${gate?.reason}`}
      </p>
      {gate?.active && gate.reason && <p className="muted wrap">{gate.reason}</p>}
    </div>
  );
}

const columns: Column<DataSourceTable>[] = [
  {
    id: 'name',
    header: 'Table',
    cell: ({ name, comment, kind }) => (
      <>
        <div className="row">
          <span className="mono truncate">{name}</span>
          {kind === 'view' && <Badge>View</Badge>}
        </div>
        {comment && (
          <div className="cell-note truncate" title={comment}>
            {comment}
          </div>
        )}
      </>
    ),
  },
  {
    id: 'rows',
    header: 'Rows, about',
    width: '8rem',
    align: 'end',
    cell: ({ row_estimate: rows }) => <span className="number">{rows === null ? '–' : formatNumber(rows)}</span>,
  },
  {
    id: 'columns',
    header: 'Columns',
    width: '50%',
    cell: ({ columns: all }) => (
      <details className="table-columns">
        <summary>{plural(all.length, 'column')}</summary>
        <ul className="column-list">
          {all.map((column) => (
            <li key={column.name} className="wrap">
              <span className="mono" dir="auto">
                {column.name}
              </span>{' '}
              <ColumnNote column={column} />
            </li>
          ))}
        </ul>
      </details>
    ),
  },
];
