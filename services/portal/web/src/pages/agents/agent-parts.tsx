import type { Agent, AgentSummary } from '@agent-service/client';
import { Badge, type Tone } from '../../ui/feedback.tsx';

export const formats: Record<Agent['output_preferences']['default_format'], string> = {
  markdown: 'Markdown',
  table: 'Tables',
  text: 'Plain text',
  json: 'JSON',
};

const statuses = ['active', 'inactive', 'draft'] as const;

const tones: Record<AgentSummary['status'], Tone> = { active: 'success', inactive: 'neutral', draft: 'warning' };
const labels: Record<AgentSummary['status'], string> = { active: 'Active', inactive: 'Inactive', draft: 'Draft' };

export const statusOptions = statuses.map((value) => ({ value, label: labels[value] }));

export function AgentStatus({ status }: { status: AgentSummary['status'] }) {
  return <Badge tone={tones[status]}>{labels[status]}</Badge>;
}
