/** What operations need of their callers, and what the built-in roles allow (contract 9.3). */

/**
 * What a caller must be allowed to do. `read`, `write` (objects) and `define` (classes and indexes) concern a federated database; `operate`
 * concerns the server: tools, statements of others, its end. `administer` is for users, tokens and roles. `identify`: whoever is known may;
 * `nothing`: nobody needs to be known.
 */
export type Need = 'read' | 'write' | 'define' | 'operate' | 'administer' | 'identify' | 'nothing'

/** Those that a role can grant. */
export const actions = ['read', 'write', 'define', 'operate', 'administer'] as const
export type Action = (typeof actions)[number]

export const builtInRoles = {
  reader: ['read'],
  writer: ['read', 'write'],
  designer: ['read', 'define'],
  operator: ['operate'],
  admin: actions,
} as const satisfies Readonly<Record<string, readonly Action[]>>

export type BuiltInRole = keyof typeof builtInRoles

export function isBuiltInRole(name: string): name is BuiltInRole {
  return Object.hasOwn(builtInRoles, name)
}

/** A role, and the federated databases for which a caller has it. */
export interface Grant {
  readonly role: string
  /** Undefined: all, also those that are added later. */
  readonly aliases: readonly string[] | undefined
}
