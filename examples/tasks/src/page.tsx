/** The page: who has signed in sees the board. */
import { StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Board } from './board.tsx'
import { type Account, LiveProvider, type Session, signIn } from './database.ts'

function Page() {
  const [session, setSession] = useState<Session>()
  const [error, setError] = useState('')
  const enter = (account: Account): void => {
    signIn(account).then(
      (entered) => {
        sessionStorage.setItem('account', JSON.stringify(account))
        setSession(entered)
      },
      (failure: Error) => setError(failure.message),
    )
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the page is opened, with the account of before.
  useEffect(() => {
    const kept = sessionStorage.getItem('account')
    if (kept !== null) enter(JSON.parse(kept) as Account)
  }, [])
  if (session === undefined) return <SignIn error={error} onAccount={enter} />
  const leave = (): void => {
    sessionStorage.clear()
    setSession(undefined)
  }
  return (
    <LiveProvider live={session.live}>
      <Board session={session} onLeave={leave} />
    </LiveProvider>
  )
}

function SignIn({ error, onAccount }: { readonly error: string; readonly onAccount: (account: Account) => void }) {
  const submit = (form: FormData): void => onAccount({ url: String(form.get('url')), token: String(form.get('token')) })
  return (
    <form action={submit}>
      <label>
        Server <input name="url" defaultValue="http://localhost:8185" required />
      </label>
      <label>
        Token <input name="token" type="password" required />
      </label>
      <button type="submit">Sign in</button>
      {error !== '' && <p role="alert">{error}</p>}
    </form>
  )
}

const root = document.getElementById('root')
if (root === null) throw new Error('The page has no element #root.')
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)
