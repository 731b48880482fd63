import { type ErrorType, publicErrorCodes } from '@agent-service/contracts';
import { z } from 'zod';

const types = [...new Set(Object.values(publicErrorCodes).map(({ type }) => type))] as [ErrorType, ...ErrorType[]];

/** The body of every failure but the OAuth token endpoint's. */
export const errorEnvelope = z
  .strictObject({
    error: z
      .strictObject({
        type: z.enum(types).meta({ description: 'The kind of failure.' }),
        code: z.string().meta({ description: 'Which failure this is, for programs.', example: 'invalid_request' }),
        message: z.string().meta({ description: 'Tells people how to react to the error.', example: 'name is required.' }),
        param: z.string().nullable().meta({ description: 'The offending field, as `data_scope.tables[0]`.', example: 'name' }),
        details: z
          .record(z.string(), z.unknown())
          .meta({ description: 'More for programs; several faulty fields are listed in `errors`.' }),
      })
      .meta({ id: 'ErrorDescription' }),
    meta: z.strictObject({ request_id: z.string() }).meta({ id: 'ErrorMeta' }),
  })
  .meta({ id: 'Error' });

/** A failure of the OAuth token endpoint (RFC 6749, section 5.2). */
export const oauthError = z
  .strictObject({
    error: z.string().meta({ example: 'invalid_client' }),
    error_description: z.string().meta({ example: 'The client credentials are not valid.' }),
  })
  .meta({ id: 'OAuthError' });
