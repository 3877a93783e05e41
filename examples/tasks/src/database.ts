/** The database of the page, and the hooks with its types. */
import { connect, type Database, type Id, type LiveDatabase, liveOf } from '@ashlar/client'
import { hooksOf } from '@ashlar/client/react'
import type { Schema } from '../schema.d.ts'

export const { LiveProvider, useLive, useWatch } = hooksOf<Schema>()

export interface Account {
  readonly url: string
  readonly token: string
}

export interface Session {
  readonly db: Database<Schema>
  readonly live: LiveDatabase<Schema>
  /** Undefined for users who are no person of the database, such as those who only read. */
  readonly me: { readonly $id: Id<'Person'>; readonly name: string } | undefined
}

/** Throws the errors of the client: the token is not valid, or no server answers. */
export async function signIn({ url, token }: Account): Promise<Session> {
  const db = connect<Schema>(url, { token })
  const [user] = (await db.query`SHOW $$USER.name`) as unknown as string[]
  const [me] = await db.find('Person', { select: { name: true }, where: { user: user ?? '' } })
  return { db, live: liveOf(db), me }
}
