import { notebookName } from '../../../src/notebooks/names.ts'
import { notebookBasePath } from '../../../src/notebooks/path.ts'
import type { LakeCoordinates, NotebookSettings, NotebookSpec } from '../../../src/notebooks/spec.ts'

export const SETTINGS: NotebookSettings = {
  images: ['image:1', 'image:2'],
  resources: { cpuRequest: '100m', cpuLimit: '2', memoryRequest: '512Mi', memoryLimit: '4Gi', storageLimit: '10Gi' },
  volume: undefined,
  warehouseClaim: undefined,
  idleMs: 3_600_000,
  placement: {
    pullSecrets: [],
    nodeSelector: {},
    tolerations: [],
    priorityClass: undefined,
    runAs: { user: 1000, group: 100 },
  },
}

export const LAKE: LakeCoordinates = {
  apiUrl: 'http://lockhouse.lockhouse.svc:3000',
  catalogName: 'lockhouse',
  catalogType: 'sql',
  catalogUri: undefined,
  warehouse: 'file:///data/warehouse',
}

/** The notebook of a user as the service specifies it. */
export function specOf(
  user: string,
  settings: Partial<NotebookSettings> = {},
  lake: Partial<LakeCoordinates> = {},
): NotebookSpec {
  return {
    user,
    name: notebookName(user),
    session: '0a1b2c3d',
    basePath: notebookBasePath(user),
    settings: { ...SETTINGS, ...settings },
    lake: { ...LAKE, ...lake },
  }
}
