import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import protobuf, { type INamespace, type Method, type Root, type Type } from 'protobufjs/light.js';

/** 64-bit integers and enums are text, absent fields have their defaults, and a oneof names its field. */
const conversion = { longs: String, enums: String, defaults: true, oneofs: true };

/** The protos in memory, of which all services that a process knows are described. */
export const readProtos = (protos: INamespace): Root => protobuf.Root.fromJSON(protos);

/** Describes a service of these protos. Senders give whole messages of the generated types: they are written as they are, without a copy. */
export function describeService(protos: Root, name: string): ServiceDefinition {
  const { methodsArray } = protos.lookupService(name);
  return Object.fromEntries(methodsArray.map((method) => [method.name, describeMethod(name, method)]));
}

/** The definition of a method with the options of its proto. */
interface DescribedMethod extends MethodDefinition<object, object> {
  readonly options: Method['options'];
}

function describeMethod(service: string, method: Method): DescribedMethod {
  const { resolvedRequestType: request, resolvedResponseType: response } = method.resolve() as Method;
  if (!request || !response) throw new Error(`The messages of ${service}.${method.name} are not described.`);
  return {
    path: `/${service}/${method.name}`,
    requestStream: method.requestStream ?? false,
    responseStream: method.responseStream ?? false,
    requestSerialize: writerOf(request),
    requestDeserialize: readerOf(request),
    responseSerialize: writerOf(response),
    responseDeserialize: readerOf(response),
    options: method.options,
  };
}

const writerOf = (type: Type) => (message: object) => Buffer.from(type.encode(message).finish());

const readerOf = (type: Type) => (bytes: Buffer) => type.toObject(type.decode(bytes), conversion);
