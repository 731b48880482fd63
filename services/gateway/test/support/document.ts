// The OpenAPI document of these sources, with which every answer that the suites of this service get is compared.
import { documentedAnswers, type OpenApi } from '@agent-service/testkit/http/documented-answers';
import { createOpenApi } from '../../src/openapi/document.ts';
import { everyRoute } from '../../src/routes/index.ts';

export const document = JSON.parse(JSON.stringify(createOpenApi(everyRoute, '/'))) as OpenApi;
export const answers = documentedAnswers(document);
