/** The limits of calls: those of a server that is not configured. */
import { defaultEngineLimits } from '@ashlar/engine'
import { defaultServerLimits } from '@ashlar/server/in-process'

export const limits = { ...defaultServerLimits, ...defaultEngineLimits }
