import { z } from 'zod';
import { type IpNetwork, parseNetwork } from './ip-network.ts';

/** A list of networks in CIDR notation, separated by commas or spaces; none by default. */
export const networksSetting = () =>
  z
    .string()
    .default('')
    .transform((value, context): readonly IpNetwork[] => {
      const texts = value.split(/[\s,]+/).filter(Boolean);
      const read = texts.map((text) => ({ text, network: parseNetwork(text) }));
      for (const { text, network } of read) {
        if (!network) context.addIssue(`"${text}" is no network like 10.0.0.0/8 or fd00::/8`);
      }
      return read.flatMap(({ network }) => network ?? []);
    });
