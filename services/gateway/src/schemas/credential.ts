import { allScopes, type Client } from '@agent-service/contracts';
import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { role } from './user.ts';

const time = z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' });
const userId = z.string().meta({ example: 'usr_01jz0000000000000000000000' });
const scope = z.enum(allScopes as [(typeof allScopes)[number], ...(typeof allScopes)[number][]]).meta({ example: 'agents:read' });

export const keyParams = z.strictObject({ key_id: z.string().meta({ example: 'key_01jz0000000000000000000000' }) });
export const applicationParams = z.strictObject({ application_id: z.string().meta({ example: 'app_01jz0000000000000000000000' }) });

export const credentialName = text(1, 100).meta({ example: 'Reporting' });
export const credentialStatus = z.enum(['active', 'ended']).meta({
  description: '`active`: no end is set. `ended`: it was revoked, or replaced by a rotation and is refused from `ends_at` on.',
  example: 'active',
});
export const ownerId = text(1, 128);
export const grantedScopes = z
  .array(scope)
  .min(1)
  .max(allScopes.length)
  .meta({ example: ['agents:read', 'agents:chat'] });
export const tokenTtl = z
  .int()
  .min(300)
  .max(86_400)
  .meta({ description: 'Lifetime of the tokens made from it, in seconds.', example: 3600 });

/** The body of a rotation. */
export const rotation = z.strictObject({
  previous_valid_seconds: z.int().min(0).max(604_800).default(86_400).meta({
    description: 'How long what is replaced stays valid: a day unless said. With 0 it is refused everywhere when this has answered.',
    example: 3600,
  }),
});

const common = {
  user_id: userId.meta({ description: 'The user whom its requests are charged to.', example: 'usr_01jz0000000000000000000000' }),
  scopes: z.array(z.string()).meta({ description: 'Limited to the present role of the user.', example: ['agents:read', 'agents:chat'] }),
  status: credentialStatus,
  created_at: time,
  last_used_at: time.nullable().meta({ description: 'To the minute; null if it was never used.', example: '2026-01-31T10:05:00.000Z' }),
  ends_at: time.nullable().meta({ description: 'From then on it is refused; null while no end is set.', example: null }),
};

const name = z.string().meta({ description: 'Empty where none was given.', example: 'Reporting' });

export const key = z
  .strictObject({
    id: z.string().meta({ example: 'key_01jz0000000000000000000000' }),
    name,
    hint: z.string().meta({ description: 'The first and last characters of the key.', example: 'sa_live_0000…eq93' }),
    ...common,
    admin: z.boolean().meta({ description: 'True if it may do what needs an administrator key.', example: false }),
    token_ttl_seconds: z.int().nullable().meta({ description: 'Lifetime of tokens made from it; null: the default.', example: 3600 }),
    replaced_by: z.string().nullable().meta({ description: 'The key that a rotation made from it.', example: null }),
  })
  .meta({ id: 'ApiKey' });

const apiKey = z
  .string()
  .meta({ description: 'The key itself, shown this once.', example: 'sa_live_000000000000000000000000000000000Eeq93' });
export const newKey = z.strictObject({ ...key.shape, api_key: apiKey }).meta({ id: 'CreatedApiKey' });
export const rotatedKey = z
  .strictObject({
    ...key.shape,
    api_key: apiKey,
    previous: z.strictObject({ id: z.string().meta({ example: 'key_01jz0000000000000000000000' }), ends_at: time }).meta({
      id: 'ReplacedApiKey',
      description: 'The replaced key, which was or will be refused from `ends_at` on.',
    }),
  })
  .meta({ id: 'RotatedApiKey' });

export const application = z
  .strictObject({
    id: z.string().meta({ description: 'The `client_id`.', example: 'app_01jz0000000000000000000000' }),
    name,
    ...common,
    previous_secret_ends_at: time.nullable().meta({
      description: 'Until then the secret from before the last rotation is accepted too; null if it is not.',
      example: null,
    }),
  })
  .meta({ id: 'OAuthApplication' });

const clientSecret = z.string().meta({ description: 'Shown this once.', example: 'sas_0000000000000000000000000000000000000000000' });
export const newApplication = z
  .strictObject({ ...application.shape, client_secret: clientSecret })
  .meta({ id: 'OAuthApplicationWithSecret' });

type Identity = Client<'identity'>;
type KeyMessage = Awaited<ReturnType<Identity['listKeys']>>['keys'][number];
type ApplicationMessage = Awaited<ReturnType<Identity['listOauthApplications']>>['applications'][number];

const toCommon = (message: KeyMessage | ApplicationMessage) => ({
  user_id: message.userId,
  scopes: message.scopes,
  status: message.endsAt === '' ? ('active' as const) : ('ended' as const),
  created_at: message.createdAt,
  last_used_at: message.lastUsedAt || null,
  ends_at: message.endsAt || null,
});

/** Converts a key of identity to its public form. */
export const toKey = (message: KeyMessage): z.output<typeof key> => ({
  id: message.id,
  name: message.name,
  hint: message.hint,
  ...toCommon(message),
  admin: message.admin,
  token_ttl_seconds: message.tokenTtlSeconds ?? null,
  replaced_by: message.replacedBy || null,
});

/** Converts an application of identity to its public form. */
export const toApplication = (message: ApplicationMessage): z.output<typeof application> => ({
  id: message.id,
  name: message.name,
  ...toCommon(message),
  previous_secret_ends_at: message.previousSecretEndsAt || null,
});

const limit = z
  .strictObject({ credential: z.int().meta({ example: 600 }), organization: z.int().meta({ example: 3000 }) })
  .meta({ id: 'RateLimit', description: 'Requests of this credential, and of all of the organization.' });

export const self = z
  .strictObject({
    user: z
      .strictObject({
        id: userId,
        name: z.string().meta({ example: 'Ada Lovelace' }),
        email: z.string().meta({ description: 'Empty where there is none.', example: 'ada@example.com' }),
        kind: z.enum(['person', 'service']).meta({ description: '`service`: the user of an application.', example: 'person' }),
        role: role
          .nullable()
          .meta({ description: 'Null for a service user: the scopes of its application are its limit.', example: 'admin' }),
      })
      .meta({ id: 'SelfUser' }),
    organization: z
      .strictObject({
        id: z.string().meta({ example: 'org_01jz0000000000000000000000' }),
        name: z.string().meta({ example: 'Acme' }),
      })
      .meta({ id: 'SelfOrganization' }),
    environment: z.enum(['live', 'test']).meta({ example: 'live' }),
    credential: z
      .strictObject({
        id: z.string().meta({ example: 'key_01jz0000000000000000000000' }),
        type: z.enum(['api_key', 'oauth_application', 'session']).meta({ example: 'api_key' }),
        name,
        admin: z.boolean().meta({ description: 'True if it may do what needs an administrator key.', example: true }),
        ends_at: time.nullable().meta({ description: 'From then on it is refused; null while no end is set.', example: null }),
      })
      .meta({ id: 'SelfCredential' }),
    scopes: z.array(z.string()).meta({ description: 'The scopes that this request’s token or key has now.', example: ['agents:read'] }),
    limits: z
      .strictObject({ reads_per_minute: limit, writes_per_minute: limit, messages_per_minute: limit })
      .meta({ id: 'SelfLimits', description: 'Rate limits. The headers of each answer say what is left.' }),
  })
  .meta({ id: 'Self' });
