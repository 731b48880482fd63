import type { CreditSettings } from '@agent-service/client';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { Settings2 } from 'lucide-react';
import { useState } from 'react';
import { useIsAdmin, useSession } from '../../api/session.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { Failure, Notice } from '../../ui/feedback.tsx';
import { Figure } from '../../ui/figure.tsx';
import { Tabs } from '../../ui/filters.tsx';
import { Page } from '../../ui/page.tsx';
import { EveryShare, OwnShare } from './allocations.tsx';
import { SettingsDialog } from './settings-dialog.tsx';
import { Usage } from './usage.tsx';
import { creditSettingsQuery } from './usage-data.ts';

export function CreditsPage() {
  const environment = useEnvironment();
  const { tab } = useSearch({ strict: false });
  const isAdmin = useIsAdmin();
  const { user } = useSession();
  const [isSetting, setSetting] = useState(false);
  const { data, error, refetch } = useQuery({ ...creditSettingsQuery(environment), enabled: isAdmin });
  const tabs = [
    { id: undefined, label: 'Usage' },
    { id: 'allocations', label: 'Allocations' },
  ];
  return (
    <Page
      title="Credits"
      description="Every answer is paid in credits. A message that fails costs nothing."
      actions={
        isAdmin && (
          <Button icon={Settings2} disabled={!data} onClick={() => setSetting(true)}>
            Credit settings
          </Button>
        )
      }
    >
      <div className="stack loose">
        {isAdmin && (error && !data ? <Failure cause={error} onRetry={() => void refetch()} /> : <Figures balance={data} />)}
        {data?.balance === 0 && (
          <Notice tone="danger">There are no credits left, so messages are refused. The operator of this service can add some.</Notice>
        )}
        {isAdmin ? (
          <div>
            <Tabs label="Views of credits" tabs={tabs} current={tab} />
            <div className="tab-body">{tab === 'allocations' ? <EveryShare /> : <Usage />}</div>
          </div>
        ) : (
          <OwnShare userId={user.id} />
        )}
      </div>
      {isSetting && data && <SettingsDialog settings={data} onClose={() => setSetting(false)} />}
    </Page>
  );
}

function Figures({ balance }: { balance: CreditSettings | undefined }) {
  return (
    <div className="figures">
      <Figure label="Balance" value={balance?.balance} note="Credits that remain" />
      <Figure label="Allocated" value={balance?.allocated} note="Assigned to users" />
      <Figure label="Unallocated" value={balance?.unallocated} note="Can be allocated" />
    </div>
  );
}
