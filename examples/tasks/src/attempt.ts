/** Reports a change that fails. */
import { createContext } from 'react'

export const Attempt = createContext<(change: Promise<unknown>) => void>(() => undefined)
