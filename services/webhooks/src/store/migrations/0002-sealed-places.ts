import { keyVersionIndex, migration } from '@agent-service/store';
import { sealedPlaces } from '../sealed-places.ts';

export const sealedPlacesMigration = migration('0002-sealed-places', ...sealedPlaces.map(keyVersionIndex));
