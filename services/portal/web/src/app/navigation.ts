import {
  AppWindow,
  Bot,
  Coins,
  Database,
  House,
  KeyRound,
  LayoutTemplate,
  type LucideIcon,
  MessageSquare,
  ScrollText,
  Settings,
  Users,
  Webhook,
} from 'lucide-react';
import type { Session } from '../api/session.ts';

interface Destination {
  to: '/$environment' | `/$environment/${string}`;
  label: string;
  icon: LucideIcon;
  adminOnly?: boolean;
  needs?: 'webhooks';
}

interface DestinationGroup {
  title: string;
  destinations: Destination[];
}

const groups = [
  {
    title: '',
    destinations: [
      { to: '/$environment', label: 'Home', icon: House },
      { to: '/$environment/chat', label: 'Chat', icon: MessageSquare },
      { to: '/$environment/agents', label: 'Agents', icon: Bot },
      { to: '/$environment/templates', label: 'Templates', icon: LayoutTemplate },
      { to: '/$environment/credits', label: 'Credits', icon: Coins },
    ],
  },
  {
    title: 'Developers',
    destinations: [
      { to: '/$environment/keys', label: 'API keys', icon: KeyRound, adminOnly: true },
      { to: '/$environment/applications', label: 'OAuth applications', icon: AppWindow, adminOnly: true },
      { to: '/$environment/webhooks', label: 'Webhooks', icon: Webhook, adminOnly: true, needs: 'webhooks' },
    ],
  },
  {
    title: 'Organization',
    destinations: [
      { to: '/$environment/data-source', label: 'Data source', icon: Database, adminOnly: true },
      { to: '/$environment/users', label: 'Users', icon: Users, adminOnly: true },
      { to: '/$environment/audit', label: 'Audit log', icon: ScrollText, adminOnly: true },
      { to: '/$environment/settings', label: 'Settings', icon: Settings },
    ],
  },
] as const satisfies DestinationGroup[];

/** The pages that the user may open, in their groups. */
export function destinationsOf({ user, features }: Session) {
  const isOpen = (one: Destination) => (!one.adminOnly || user.role === 'admin') && (!one.needs || features[one.needs]);
  return groups
    .map(({ title, destinations }) => ({ title, destinations: destinations.filter(isOpen) }))
    .filter(({ destinations }) => destinations.length > 0);
}
