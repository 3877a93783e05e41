/** The classes of the security database, and the upgrades between their versions (contract 9.2). */
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
const whole = (attributeName: string): object => {
  return { attributeName, logicalType: 'integer', storage: 'b64', encoding: 'signed' }
}
const one = (attributeName: string, referencedClass: ClassName, inverseAttribute: string): object => {
  return { attributeName, logicalType: 'reference', referencedClass, inverseAttribute }
}
const many = (attributeName: string, referencedClass: ClassName, inverseAttribute: string): object => {
  const elementSpecification = { logicalType: 'reference', referencedClass, inverseAttribute }
  return { attributeName, logicalType: 'list', elementSpecification }
}
const referenceable = (name: ClassName, attributes: readonly object[]): object => {
  return { className: name, isReferenceable: true, attributes }
}

const classes = [
  referenceable(className.state, [text('key'), whole('schemaVersion'), whole('revision')]),
  referenceable(className.user, [
    text('name'),
    // Empty if the user cannot sign in by password.
    text('passwordHash'),
    texts('roles'),
    truth('isDisabled'),
    whole('createdAtMs'),
    many('tokens', className.token, 'owner'),
    many('sessions', className.session, 'user'),
  ]),
  referenceable(className.token, [
    text('tokenId'),
    text('name'),
    text('secretHash'),
    texts('roles'),
    // Whether the token has roles of its own, limited by those of its owner; otherwise it has the roles of its owner.
    truth('hasRoles'),
    one('owner', className.user, 'tokens'),
    whole('createdAtMs'),
    // 0: it does not expire.
    whole('expiresAtMs'),
    whole('lastUsedAtMs'),
  ]),
  referenceable(className.session, [
    text('sessionId'),
    text('secretHash'),
    one('user', className.user, 'sessions'),
    whole('createdAtMs'),
    whole('expiresAtMs'),
    whole('lastUsedAtMs'),
  ]),
  // `grants`: JSON; empty for none. Its vocabulary is part of the version: a process does not read roles with an unknown word.
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

/** `step`: the database for the next operation of the transaction. */
export async function createSecuritySchema(step: () => Database): Promise<void> {
  await step().defineClasses(classes, 'create')
  for (const [name, indexedClass, attributeName] of uniqueIndexes) {
    await step().createIndex({ name, indexedClass, isUnique: true, keyAttributes: [{ attributeName }] })
  }
  await step().createObject(className.state, { key: stateKey, schemaVersion, revision: 1 })
}

/** Upgrades from one version of the classes to the next; the first leads to version 2. An older process that has the database open ignores what is new, and grants nothing by it. */
const upgrades: readonly ((step: () => Database) => Promise<unknown>)[] = [
  (step) => step().defineClasses([referenceable(className.role, [text('grants')])], 'createOrExtend'),
]

/** Adds what earlier versions of `createSecuritySchema` did not create. */
export async function upgradeSecuritySchema(step: () => Database, state: string, version: number): Promise<void> {
  for (const upgrade of upgrades.slice(version - 1)) await upgrade(step)
  await step().updateObject(state, { schemaVersion })
}
