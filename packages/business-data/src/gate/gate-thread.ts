import { passGates } from '../sql/gates.ts';
import { serveGate } from './serve-gate.ts';

serveGate(passGates);
