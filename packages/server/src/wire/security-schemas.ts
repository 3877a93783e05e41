/** What goes over the wire of users, tokens, sessions and roles (contract 9.2). */
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

export const SecurityUser = Type.Object({
  name: Type.String(),
  roles: Grants,
  isDisabled: Type.Boolean(),
  hasPassword: Type.Boolean(),
  createdAt: Type.String(),
})

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
})

export const CreateRoleBody = Type.Object({ name: Type.String(), actions: Actions }, closed)

export const SecurityRole = Type.Object({ name: Type.String(), actions: Actions, isBuiltIn: Type.Boolean() })
