// SPDX-License-Identifier: MIT
import libweir from './index.js';

export const {Limiter, Table, Decision, Refused, headers, pace, nowNs, version} = libweir;
export default libweir;
