/** The places of objects and indexes in the interface, as replies name them. */

export function objectUri(oid: string): string {
  return `/v1/object/${oid}`
}

export function indexUri(name: string): string {
  return `/v1/index/${name}`
}
