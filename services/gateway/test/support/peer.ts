import { callers, type Implementation, serve, services } from '@agent-service/contracts';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { freePort } from '@agent-service/testkit';
import { type AgentsScript, agentsMethods, usualAgents } from './agents-peer.ts';
import { usualCredits } from './credits-peer.ts';
import { peerSettings } from './peer-settings.ts';
import { usualTemplates } from './templates-peer.ts';
import { usualWebhooks } from './webhooks-peer.ts';

type Methods = Implementation<'identity'>;
type Script = { [Name in keyof Methods]?: Methods[Name]['handle'] };

const user = {
  id: 'usr_1',
  name: 'Ada',
  email: 'ada@example.com',
  role: 'member',
  status: 'active',
  createdAt: '2026-01-31T10:00:00.000Z',
};
const page = { total: 1, nextCursor: '' };
const at = user.createdAt;
const key = {
  id: 'key_1',
  name: 'Reporting',
  hint: 'sa_live_0000…eq93',
  userId: 'usr_1',
  scopes: ['agents:read'],
  admin: false,
  createdAt: at,
  lastUsedAt: '',
  endsAt: '',
  replacedBy: '',
};
const application = {
  id: 'app_1',
  name: 'Reporting',
  userId: 'usr_1',
  scopes: ['agents:read'],
  createdAt: at,
  lastUsedAt: at,
  endsAt: '',
  previousSecretEndsAt: '',
};

/** The usual responses of the identity service for one user, so that a test replaces only the methods that it is about. */
function usual(): { [Name in keyof Methods]: Methods[Name]['handle'] } {
  const nothing = async () => ({});
  return {
    authenticate: async ({ tokens }) => ({ results: tokens.map(() => ({ refusal: 'invalid_token' })) }),
    issueToken: async () => ({ accessToken: 'a.b.c', expiresIn: 3600, expiresAt: '2026-01-31T11:00:00.000Z' }),
    issueAgentToken: async ({ expiresIn }) => ({ accessToken: 'a.b.c', expiresIn, expiresAt: '2026-01-31T11:00:00.000Z' }),
    issueClientToken: async ({ scope }) => ({ accessToken: 'a.b.c', expiresIn: 3600, scope: scope || 'users:read' }),
    listSigningKeys: async () => ({ keys: [{ kid: 'k1', n: 'AQAB', e: 'AQAB' }] }),
    listUsers: async () => ({ users: [user], page }),
    getUser: async () => ({ user }),
    createUser: async () => ({ user }),
    updateUser: async () => ({ user }),
    listAuditEntries: async () => ({ entries: [], page: { total: 0, nextCursor: '' } }),
    getSelf: async () => ({
      user,
      userKind: 'person',
      organizationName: 'Acme',
      credentialType: 'api_key',
      credentialName: 'Reporting',
      credentialEndsAt: '',
    }),
    listKeys: async () => ({ keys: [key], page }),
    getKey: async () => ({ key }),
    issueKey: async () => ({ key, apiKey: 'sa_live_1' }),
    updateKey: async () => ({ key }),
    rotateKey: async () => ({ key, apiKey: 'sa_live_1', previousEndsAt: at }),
    listOauthApplications: async () => ({ applications: [application], page }),
    getOauthApplication: async () => ({ application }),
    issueOauthApplication: async () => ({ application, clientSecret: 'sas_1' }),
    updateOauthApplication: async () => ({ application }),
    rotateOauthSecret: async () => ({ application, clientSecret: 'sas_1' }),
    revokeKey: nothing,
    rotateSigningKey: nothing,
    revokeSigningKey: nothing,
    appendAuditEntries: nothing,
    verifyAuditChain: nothing,
    listAuditAnchors: nothing,
    checkAuditAnchors: nothing,
    getOrganization: nothing,
    listOrganizations: nothing,
    createOrganization: nothing,
    createKey: nothing,
    createOauthClient: nothing,
    revokeOauthClient: nothing,
    listAdministrators: nothing,
    listDeadLetters: nothing,
    retryDeadLetters: nothing,
    changePassword: nothing,
    acceptInvitation: nothing,
    createInvitation: nothing,
    createPasswordReset: nothing,
    deleteInvitation: nothing,
    getInvitation: nothing,
    listInvitations: nothing,
    resetPassword: nothing,
    beginTwoFactor: nothing,
    confirmTwoFactor: nothing,
    removeTwoFactor: nothing,
    setUserPassword: nothing,
    endSession: nothing,
    endSessions: nothing,
    issueSessionToken: nothing,
    listSessions: nothing,
    resumeSession: nothing,
    signIn: nothing,
    signInWithProvider: nothing,
    getOrganizationChoice: nothing,
    chooseOrganization: nothing,
  };
}

const policies: Partial<Record<keyof Methods, Methods[keyof Methods]['allow']>> = {
  listUsers: callers({ scope: 'users:read' }),
  revokeKey: callers({ admin: true }),
};

export interface Peer {
  readonly address: string;
  /** The address of credits, whose responses are fixed. */
  readonly creditsAddress: string;
  readonly agentsAddress: string;
  readonly templatesAddress: string;
  readonly webhooksAddress: string;
  readonly agents: AgentsScript;
  /** Stops and restarts agents only. */
  stopAgents(): Promise<void>;
  startAgents(): Promise<void>;
  /** The handlers of identity; assign to replace one. */
  readonly script: Script;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Real gRPC servers in place of all services behind the gateway, with handlers that a test replaces. They can stop and restart at the same address. */
export async function startPeer(): Promise<Peer> {
  const [port, creditsPort, agentsPort] = [await freePort(), await freePort(), await freePort()];
  const [templatesPort, webhooksPort] = [await freePort(), await freePort()];
  const agents = usualAgents();
  const script = usual();
  const methods = Object.keys(script) as (keyof Methods)[];
  const implementation = Object.fromEntries(
    methods.map((name) => [
      name,
      {
        allow: policies[name] ?? services('gateway'),
        handle: (request: never, call: never) => (script[name] as (...input: never[]) => Promise<object>)(request, call),
      },
    ]),
  ) as unknown as Methods;
  const configOf = (grpcPort: number) => ({ ...peerSettings, SERVICE_SECRET: [...peerSettings.SERVICE_SECRET], GRPC_PORT: grpcPort });
  const startServer = <Name extends 'identity' | 'credits' | 'agents' | 'templates' | 'webhooks'>(
    name: Name,
    config: ReturnType<typeof configOf>,
    methods: Implementation<Name>,
  ) => createProcess(name, config as never, (process) => serve(process, config as never, name, methods));
  let running: RunningProcess[] = [];
  let runningAgents: RunningProcess | undefined;
  const peer: Peer = {
    address: `ipv4:127.0.0.1:${port}`,
    creditsAddress: `ipv4:127.0.0.1:${creditsPort}`,
    agentsAddress: `ipv4:127.0.0.1:${agentsPort}`,
    templatesAddress: `ipv4:127.0.0.1:${templatesPort}`,
    webhooksAddress: `ipv4:127.0.0.1:${webhooksPort}`,
    agents,
    script,
    startAgents: async () => {
      runningAgents ??= await startServer('agents', configOf(agentsPort), agentsMethods(agents));
    },
    stopAgents: async () => {
      await runningAgents?.stop();
      runningAgents = undefined;
    },
    start: async () => {
      await peer.startAgents();
      if (running.length > 0) return;
      running = await Promise.all([
        startServer('identity', configOf(port), implementation),
        startServer('credits', configOf(creditsPort), usualCredits()),
        startServer('templates', configOf(templatesPort), usualTemplates()),
        startServer('webhooks', configOf(webhooksPort), usualWebhooks()),
      ]);
    },
    stop: async () => {
      await peer.stopAgents();
      await Promise.all(running.map((server) => server.stop()));
      running = [];
    },
  };
  await peer.start();
  return peer;
}
