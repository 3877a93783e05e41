/** The classes of the security database, and upgrades between their versions (contract 9.2). */
import type { Database } from '@ashlar/engine'

/** Version of the classes; a store with a later version is not opened. */
export const schemaVersion = 2

export const namespace = 'AshlarSecurity'
export const className = {
  state: `${namespace}.State`,
  user: `${namespace}.User`,
  token: `${namespace}.Token`,
  session: `${namespace}.Session`,
  role: `${namespace}.Role`,
} as const

type ClassName = (typeof className)[keyof typeof className]

const text = (attributeName: string): object => ({ attributeName, logicalType: 'string' })
const truth = (attributeName: string): object => ({ attributeName, logicalType: 'boolean' })
const texts = (attributeName: string): object => {
  return { attributeName, logicalType: 'list', elementSpecification: { logicalType: 'string' } }
}
const integer = (attributeName: string): object => {
  return { attributeName, logicalType: 'integer', storage: 'b64', encoding: 'signed' }
}
const reference = (attributeName: string, referencedClass: ClassName, inverseAttribute: string): object => {
  return { attributeName, logicalType: 'reference', referencedClass, inverseAttribute }
}
const references = (attributeName: string, referencedClass: ClassName, inverseAttribute: string): object => {
  const elementSpecification = { logicalType: 'reference', referencedClass, inverseAttribute }
  return { attributeName, logicalType: 'list', elementSpecification }
}
const referenceable = (name: ClassName, attributes: readonly object[]): object => {
  return { className: name, isReferenceable: true, attributes }
}

const classes = [
  referenceable(className.state, [text('key'), integer('schemaVersion'), integer('revision')]),
  referenceable(className.user, [
    text('name'),
    // Empty if the user cannot sign in by password.
    text('passwordHash'),
    texts('roles'),
    truth('isDisabled'),
    integer('createdAtMs'),
    references('tokens', className.token, 'owner'),
    references('sessions', className.session, 'user'),
  ]),
  referenceable(className.token, [
    text('tokenId'),
    text('name'),
    text('secretHash'),
    texts('roles'),
    // Whether the token has separate roles, limited by the owner's; otherwise it has the roles of its owner.
    truth('hasRoles'),
    reference('owner', className.user, 'tokens'),
    integer('createdAtMs'),
    // 0: never.
    integer('expiresAtMs'),
    integer('lastUsedAtMs'),
  ]),
  referenceable(className.session, [
    text('sessionId'),
    text('secretHash'),
    reference('user', className.user, 'sessions'),
    integer('createdAtMs'),
    integer('expiresAtMs'),
    integer('lastUsedAtMs'),
  ]),
  // `grants`: JSON, or empty. Its vocabulary is part of the schema version: roles with unknown words are not read.
  referenceable(className.role, [text('name'), texts('actions'), text('grants')]),
]

const uniqueIndexes: readonly (readonly [string, ClassName, string])[] = [
  ['oneState', className.state, 'key'],
  ['userByName', className.user, 'name'],
  ['tokenById', className.token, 'tokenId'],
  ['sessionById', className.session, 'sessionId'],
  ['roleByName', className.role, 'name'],
]

export const stateKey = 'state'

/** `step`: returns the database for the next operation of the transaction. */
export async function createSecuritySchema(step: () => Database): Promise<void> {
  await step().defineClasses(classes, 'create')
  for (const [name, indexedClass, attributeName] of uniqueIndexes) {
    await step().createIndex({ name, indexedClass, isUnique: true, keyAttributes: [{ attributeName }] })
  }
  await step().createObject(className.state, { key: stateKey, schemaVersion, revision: 1 })
}

/** Upgrades from each version to the next, starting with 1 to 2. Older processes that have the database open ignore the additions. */
const upgrades: readonly ((step: () => Database) => Promise<unknown>)[] = [
  (step) => step().defineClasses([referenceable(className.role, [text('grants')])], 'createOrExtend'),
]

/** Adds everything introduced after the given version. */
export async function upgradeSecuritySchema(step: () => Database, state: string, version: number): Promise<void> {
  for (const upgrade of upgrades.slice(version - 1)) await upgrade(step)
  await step().updateObject(state, { schemaVersion })
}
