import { networksSetting } from '@agent-service/outbound';

/** The settings of each service that connects data sources. */
export const dataSourceSettings = {
  DATA_SOURCE_ALLOWED_NETWORKS: networksSetting().describe(
    'Private networks that data sources connected in the portal may lead to, as `10.2.0.0/16,fd00:1::/64`; `npm start` allows those of this machine while only it is served. An operator connects to any address.',
  ),
};
