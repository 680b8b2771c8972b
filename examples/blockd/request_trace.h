/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracepoints of connections and their requests for the recorder. */
#ifndef BLOCKD_REQUEST_TRACE_H
#define BLOCKD_REQUEST_TRACE_H

#include <spoor/trace.h>

SPOOR_GROUP(tcp, "connections and their requests");
SPOOR_OWNER(tcp_qpair, 't');
SPOOR_OBJECT(tcp_request, 'r');
SPOOR_OBJECT(tcp_qpair, 'q');

SPOOR_TRACEPOINT(tcp, TCP_QP_CONNECT, tcp_qpair, SPOOR_BEGINS, (const char *, peer));
SPOOR_TRACEPOINT(tcp, TCP_QP_REFUSE, tcp_qpair, SPOOR_USES, (const char *, why));
SPOOR_TRACEPOINT(tcp, TCP_QP_DISCONNECT, tcp_qpair, SPOOR_ENDS);

SPOOR_TRACEPOINT(tcp, TCP_REQ_NEW, tcp_request, SPOOR_BEGINS, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_NEED_BUFFER, tcp_request, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_TX_H_TO_C, tcp_request, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_RDY_TO_EXECUTE, tcp_request, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_EXECUTED, tcp_request, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_RDY_TO_COMPLETE, tcp_request, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_TRANSFER_C2H, tcp_request, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_COMPLETED, tcp_request, SPOOR_ENDS, (const void *, qpair));

#endif
