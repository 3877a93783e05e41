/** What goes over the wire of users, tokens, sessions and roles (contract 9.2). */
import { accessActions } from '@ashlar/engine'
import { Type } from './json-schema.ts'

const closed = { additionalProperties: false }
const nullableText = Type.Union([Type.String(), Type.Null()])
const Grants = Type.Array(Type.String(), {
  description: 'Roles as they are granted: `reader`, or `writer@orders,shop` for some federated databases.',
})
const Actions = Type.Array(Type.String(), { description: 'Of read, write, define, operate, administer.' })

export const SignInBody = Type.Object({ name: Type.String(), password: Type.String() }, closed)

export const CallerRecord = Type.Object({
  kind: Type.Enum(['everyone', 'nobody', 'user', 'token', 'jwt', 'certificate'], {
    description: 'How the caller is known; `everyone` where authentication is off.',
  }),
  name: nullableText,
  roles: Grants,
  expiresAt: Type.Described(nullableText, 'When the credential ends, where it does.'),
})

export const ChangePasswordBody = Type.Object({ currentPassword: Type.String(), newPassword: Type.String() }, closed)

export const CreateUserBody = Type.Object(
  {
    name: Type.String(),
    password: Type.Optional(Type.String({ description: 'Without one the user can have tokens, and cannot sign in.' })),
    roles: Type.Optional(Grants),
  },
  closed,
)

export const UpdateUserBody = Type.Object(
  {
    password: Type.Optional(Type.String({ description: 'Ends the sessions of the user.' })),
    roles: Type.Optional(Grants),
    isDisabled: Type.Optional(Type.Boolean({ description: 'The user and the tokens of the user are refused.' })),
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
  description: 'Roles for federated databases that are not served: they grant nothing there until these are.',
})

export const SecurityUserChanged = Type.Object({ ...user, problems: aliasProblems })

export const CreateTokenBody = Type.Object(
  {
    name: Type.String({ description: 'For people: what the token is for.' }),
    owner: Type.Optional(
      Type.String({ description: 'The user whose it is; of callers who are no administrators, themselves.' }),
    ),
    roles: Type.Optional(Type.Described(Grants, 'Within those of the owner; without them, those of the owner.')),
    expiresAt: Type.Optional(Type.String({ description: 'As 2030-01-31T12:00:00Z; without it, it does not expire.' })),
  },
  closed,
)

const token = {
  id: Type.String({ description: 'The first part of its text, by which it is revoked.' }),
  name: Type.String(),
  owner: nullableText,
  roles: Type.Union([Grants, Type.Null()]),
  createdAt: Type.String(),
  expiresAt: nullableText,
  lastUsedAt: Type.Described(nullableText, 'To the minute.'),
}

export const SecurityToken = Type.Object(token)

export const TokenCreated = Type.Object({
  ...token,
  token: Type.String({ description: 'Told this once: only a digest of it is kept.' }),
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
        description:
          'All classes, those of a namespace (null is the default one), or a class; their subclasses with them.',
      },
    ),
    actions: Type.Array(Type.Enum(accessActions)),
    shown: Type.Optional(
      Type.Array(Type.String(), { description: 'The only attributes that exist for the caller; without it, all.' }),
    ),
    hidden: Type.Optional(Type.Array(Type.String(), { description: 'Attributes that do not exist for the caller.' })),
    readOnly: Type.Optional(Type.Array(Type.String(), { description: 'Attributes that the caller does not change.' })),
    rules: Type.Optional(
      Type.Object(
        {
          read: Type.Optional(Type.String()),
          create: Type.Optional(Type.String()),
          update: Type.Optional(Type.String()),
          delete: Type.Optional(Type.String()),
        },
        { ...closed, description: 'Predicates of DO over the object and `$$USER`; without one, every object.' },
      ),
    ),
  },
  closed,
)
const AccessGrants = Type.Array(AccessGrant, {
  description: 'On parts of the federated databases for which the role is given; several add up.',
})

export const CreateRoleBody = Type.Object(
  { name: Type.String(), actions: Type.Optional(Actions), grants: Type.Optional(AccessGrants) },
  closed,
)

const role = { name: Type.String(), actions: Actions, grants: AccessGrants, isBuiltIn: Type.Boolean() }

export const SecurityRole = Type.Object(role)

export const RoleProblem = Type.Object({
  fdAlias: Type.Described(nullableText, 'Null: no federated database that is served has what is named.'),
  grant: Type.Integer({ description: 'Which of the grants, from 1.' }),
  field: Type.String({ description: '`on`, `shown`, `hidden`, `readOnly`, `rules.read` and so on.' }),
  message: Type.String(),
})

const problems = Type.Array(RoleProblem, {
  description: 'What does not agree with the classes that there are now: it allows or hides nothing until they do.',
})

export const SecurityRoleChanged = Type.Object({ ...role, problems })

export const ChangeRoleBody = Type.Object(
  {
    actions: Type.Optional(Actions),
    grants: Type.Optional(AccessGrants),
    name: Type.Optional(Type.String({ description: 'As it is, where it is given: a name stays.' })),
    isBuiltIn: Type.Optional(Type.Boolean({ description: 'False, where it is given.' })),
    problems: Type.Optional(Type.Described(problems, 'As it was read; it changes nothing.')),
  },
  closed,
)
