import type { AgentSummary } from '@agent-service/client';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { MessageSquare, Pause, Pencil, Play, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { readAgentsAgain } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { ConfirmDialog, Menu } from '../../ui/dialog.tsx';
import { notify, notifyFailure } from '../../ui/feedback.tsx';

type Listed = Pick<AgentSummary, 'id' | 'name' | 'status'>;

/** Changes the status of an agent, and reads again what shows it. */
export function useSetStatus() {
  const environment = useEnvironment();
  const client = useQueryClient();
  return async ({ id, name }: Listed, status: 'active' | 'inactive') => {
    try {
      await bodyOf(api(environment).PATCH('/v1/agents/{agent_id}', { params: { path: { agent_id: id } }, body: { status } }));
      notify(`${name} is ${status}.`);
      await readAgentsAgain(client, environment);
    } catch (cause) {
      notifyFailure(cause);
    }
  };
}

/** The actions on an agent, for its row and its page. */
export function AgentMenu({ agent, onDeleted }: { agent: Listed; onDeleted?: () => void }) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  const client = useQueryClient();
  const setStatus = useSetStatus();
  const [isDeleting, setDeleting] = useState(false);
  const params = { environment, agentId: agent.id };
  const isActive = agent.status === 'active';
  const remove = async () => {
    await api(environment).DELETE('/v1/agents/{agent_id}', { params: { path: { agent_id: agent.id } } });
    notify(`${agent.name} was deleted.`);
    onDeleted?.();
    await readAgentsAgain(client, environment, onDeleted ? 'none' : 'active');
  };
  return (
    <>
      <Menu
        label={`Actions of ${agent.name}`}
        items={[
          ...(isActive
            ? [
                {
                  label: 'Chat',
                  icon: MessageSquare,
                  onSelect: () => void navigate({ to: '/$environment/chat/$agentId/{-$conversationId}', params }),
                },
              ]
            : []),
          { label: 'Edit', icon: Pencil, onSelect: () => void navigate({ to: '/$environment/agents/$agentId/edit', params }) },
          {
            label: isActive ? 'Make inactive' : 'Make active',
            icon: isActive ? Pause : Play,
            onSelect: () => void setStatus(agent, isActive ? 'inactive' : 'active'),
          },
          'line',
          { label: 'Delete', icon: Trash2, danger: true, onSelect: () => setDeleting(true) },
        ]}
      />
      {isDeleting && (
        <ConfirmDialog
          title="Delete this agent?"
          action="Delete the agent"
          name={agent.name}
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          Its conversations are deleted with it, and programs that use it get errors. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
