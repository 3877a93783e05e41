/** Requests and replies about users, tokens, sessions and roles (contract 9.2). */
import { accessActions } from '@ashlar/engine'
import { Type } from './json-schema.ts'

const closed = { additionalProperties: false }
const nullableText = Type.Union([Type.String(), Type.Null()])
const Grants = Type.Array(Type.String(), {
  description: 'Roles: `reader`, or `writer@orders,shop` for some federated databases only.',
})
const Actions = Type.Array(Type.String(), { description: 'Any of read, write, define, operate, administer.' })

export const SignInBody = Type.Object({ name: Type.String(), password: Type.String() }, closed)

export const CallerRecord = Type.Object({
  kind: Type.Enum(['everyone', 'nobody', 'user', 'token', 'jwt', 'certificate'], {
    description: 'The kind of the caller; `everyone` without authentication.',
  }),
  name: nullableText,
  roles: Grants,
  expiresAt: Type.Described(nullableText, 'When the credential expires, if it does.'),
})

export const ChangePasswordBody = Type.Object({ currentPassword: Type.String(), newPassword: Type.String() }, closed)

export const CreateUserBody = Type.Object(
  {
    name: Type.String(),
    password: Type.Optional(Type.String({ description: 'Without a password, the user can only have tokens.' })),
    roles: Type.Optional(Grants),
  },
  closed,
)

export const UpdateUserBody = Type.Object(
  {
    password: Type.Optional(Type.String({ description: 'Ends the sessions of the user.' })),
    roles: Type.Optional(Grants),
    isDisabled: Type.Optional(Type.Boolean({ description: 'The user and its tokens are rejected.' })),
  },
  closed,
)

const user = {
  name: Type.String(),
  roles: Grants,
  isDisabled: Type.Boolean(),
  hasPassword: Type.Boolean(),
  createdAt: Type.String(),
}

export const SecurityUser = Type.Object(user)

const aliasProblems = Type.Array(Type.String(), {
  description: 'Roles for federated databases that the server does not have, which have no effect.',
})

export const SecurityUserChanged = Type.Object({ ...user, problems: aliasProblems })

export const CreateTokenBody = Type.Object(
  {
    name: Type.String({ description: 'The purpose of the token.' }),
    owner: Type.Optional(
      Type.String({ description: 'The user that owns the token; the caller itself, unless it is an administrator.' }),
    ),
    roles: Type.Optional(Type.Described(Grants, 'Roles within those of the owner, which are the default.')),
    expiresAt: Type.Optional(
      Type.String({ description: 'Expiry, such as 2030-01-31T12:00:00Z; by default the token does not expire.' }),
    ),
  },
  closed,
)

const token = {
  id: Type.String({ description: 'The beginning of its text, by which it is revoked.' }),
  name: Type.String(),
  owner: nullableText,
  roles: Type.Union([Grants, Type.Null()]),
  createdAt: Type.String(),
  expiresAt: nullableText,
  lastUsedAt: Type.Described(nullableText, 'Exact to the minute.'),
}

export const SecurityToken = Type.Object(token)

export const TokenCreated = Type.Object({
  ...token,
  token: Type.String({ description: 'Shown only once: the server keeps a digest.' }),
  problems: aliasProblems,
})

export const AccessGrant = Type.Object(
  {
    on: Type.Union(
      [
        Type.Object({ kind: Type.Literal('all') }, closed),
        Type.Object({ kind: Type.Literal('namespace'), namespace: nullableText }, closed),
        Type.Object({ kind: Type.Literal('class'), className: Type.String() }, closed),
      ],
      {
        description: 'All classes, those of a namespace (null is the default one), or a class, always with subclasses.',
      },
    ),
    actions: Type.Array(Type.Enum(accessActions)),
    shown: Type.Optional(
      Type.Array(Type.String(), { description: 'The only attributes that the caller can see; by default all.' }),
    ),
    hidden: Type.Optional(Type.Array(Type.String(), { description: 'Attributes that the caller cannot see.' })),
    readOnly: Type.Optional(Type.Array(Type.String(), { description: 'Attributes that the caller cannot change.' })),
    rules: Type.Optional(
      Type.Object(
        {
          read: Type.Optional(Type.String()),
          create: Type.Optional(Type.String()),
          update: Type.Optional(Type.String()),
          delete: Type.Optional(Type.String()),
        },
        {
          ...closed,
          description: 'Predicates of DO over the object and `$$USER`; by default every object is allowed.',
        },
      ),
    ),
  },
  closed,
)
const AccessGrants = Type.Array(AccessGrant, {
  description: 'Grants on parts of the federated databases for which the role is assigned; they add up.',
})

export const CreateRoleBody = Type.Object(
  { name: Type.String(), actions: Type.Optional(Actions), grants: Type.Optional(AccessGrants) },
  closed,
)

const role = { name: Type.String(), actions: Actions, grants: AccessGrants, isBuiltIn: Type.Boolean() }

export const SecurityRole = Type.Object(role)

export const RoleProblem = Type.Object({
  fdAlias: Type.Described(nullableText, 'Null if no federated database of the server has what the grant names.'),
  grant: Type.Integer({ description: 'The number of the grant, from 1.' }),
  field: Type.String({ description: '`on`, `shown`, `hidden`, `readOnly`, `rules.read` and so on.' }),
  message: Type.String(),
})

const problems = Type.Array(RoleProblem, {
  description: 'A grant that does not match the current classes, and therefore allows or hides nothing.',
})

export const SecurityRoleChanged = Type.Object({ ...role, problems })

export const ChangeRoleBody = Type.Object(
  {
    actions: Type.Optional(Actions),
    grants: Type.Optional(AccessGrants),
    name: Type.Optional(Type.String({ description: 'Optional: the current name, which cannot be changed.' })),
    isBuiltIn: Type.Optional(Type.Boolean({ description: 'Optional: false.' })),
    problems: Type.Optional(Type.Described(problems, 'Optional, as returned by a read; it has no effect.')),
  },
  closed,
)
