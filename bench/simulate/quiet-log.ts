import { note } from '../support/report.ts'
import { createLogger } from '../../src/services/logger.ts'

/** Only warnings, which a simulation should not cause. */
export const silentLog = createLogger('warn', note)
