// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the verbs that kernel consumers use, on the first pvrdma device that there is.
 *
 * Each test connects two reliable queue pairs of the device with each other. All memory for the
 * peer is registered with fast registration, as the upper layers in the kernel do it. The tests
 * run with both drivers; what only the Rust driver does is skipped with the C driver.
 */

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

static unsigned int operations = 20000;
module_param(operations, uint, 0444);
MODULE_PARM_DESC(operations, "number of sends of the long test");

#define PORT		1
#define DEPTH		64
#define SEGMENTS	4
#define PAGES		4
#define LEN		(PAGES * PAGE_SIZE)
#define TIMEOUT_MS	5000
#define ACCESS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

static struct ib_device *device;

/* One end of the connection, with a buffer and a region that the peer may use. */
struct end {
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_mr *mr;
	void *buf;
	u64 dma;
	struct scatterlist sg;
};

struct pair {
	struct ib_pd *pd;
	struct end a, b;
};

static bool is_rust_driver(void)
{
	return !strcmp(module_name(device->ops.owner), "vmw_pvrdma_rust");
}

/* Waits for the next completion of a queue and returns its status; -ETIMEDOUT if there is none. */
static int next(struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long end = jiffies + msecs_to_jiffies(TIMEOUT_MS);

	do {
		if (ib_poll_cq(cq, 1, wc) == 1)
			return wc->status;
		usleep_range(50, 100);
	} while (time_before(jiffies, end));
	return -ETIMEDOUT;
}

/* Expects the successful completion of request `id`. */
static void expect(struct kunit *test, struct ib_cq *cq, u64 id, enum ib_wc_opcode opcode)
{
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, next(cq, &wc), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wr_id, id);
	KUNIT_EXPECT_EQ(test, wc.opcode, opcode);
}

static int make_end(struct ib_pd *pd, struct end *end)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 4 * DEPTH };
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = SEGMENTS,
			.max_recv_sge = SEGMENTS,
		},
	};

	end->buf = kzalloc(LEN, GFP_KERNEL);
	if (!end->buf)
		return -ENOMEM;
	end->dma = ib_dma_map_single(device, end->buf, LEN, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(device, end->dma)) {
		end->dma = 0;
		return -ENOMEM;
	}
	sg_init_one(&end->sg, end->buf, LEN);
	sg_dma_address(&end->sg) = end->dma;
	sg_dma_len(&end->sg) = LEN;

	end->cq = ib_create_cq(device, NULL, NULL, NULL, &cq_attr);
	if (IS_ERR(end->cq))
		return PTR_ERR(end->cq);
	end->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, PAGES);
	if (IS_ERR(end->mr))
		return PTR_ERR(end->mr);
	attr.send_cq = end->cq;
	attr.recv_cq = end->cq;
	end->qp = ib_create_qp(pd, &attr);
	return PTR_ERR_OR_ZERO(end->qp);
}

static void free_end(struct end *end)
{
	if (!IS_ERR_OR_NULL(end->qp))
		ib_destroy_qp(end->qp);
	if (!IS_ERR_OR_NULL(end->mr))
		ib_dereg_mr(end->mr);
	if (!IS_ERR_OR_NULL(end->cq))
		ib_destroy_cq(end->cq);
	if (end->dma)
		ib_dma_unmap_single(device, end->dma, LEN, DMA_BIDIRECTIONAL);
	kfree(end->buf);
}

/* Brings a queue pair to "ready to send", connected with `peer` through the same port. */
static int connect(struct ib_qp *qp, struct ib_qp *peer)
{
	const struct ib_gid_attr *sgid = rdma_get_gid_attr(device, PORT, 0);
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = ACCESS,
	};
	struct net_device *ndev;
	int ret;

	if (IS_ERR(sgid))
		return PTR_ERR(sgid);
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		goto out;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_1024;
	attr.dest_qp_num = peer->qp_num;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 12;
	attr.ah_attr.type = rdma_ah_find_type(device, PORT);
	rdma_ah_set_port_num(&attr.ah_attr, PORT);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&sgid->gid, 0, sgid->index, 64, 0);
	ndev = ib_device_get_netdev(device, PORT);
	if (ndev) {
		ether_addr_copy(attr.ah_attr.roce.dmac, ndev->dev_addr);
		dev_put(ndev);
	}
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (ret)
		goto out;

	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			   IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
out:
	rdma_put_gid_attr(sgid);
	return ret;
}

static void free_pair(void *data)
{
	struct pair *pair = data;

	free_end(&pair->a);
	free_end(&pair->b);
	if (!IS_ERR_OR_NULL(pair->pd))
		ib_dealloc_pd(pair->pd);
}

/* Returns two connected ends, which go away after the test. */
static struct pair *make_pair(struct kunit *test)
{
	struct pair *pair = kunit_kzalloc(test, sizeof(*pair), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pair);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_pair, pair), 0);
	pair->pd = ib_alloc_pd(device, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pair->pd));
	KUNIT_ASSERT_EQ(test, make_end(pair->pd, &pair->a), 0);
	KUNIT_ASSERT_EQ(test, make_end(pair->pd, &pair->b), 0);
	KUNIT_ASSERT_EQ(test, connect(pair->a.qp, pair->b.qp), 0);
	KUNIT_ASSERT_EQ(test, connect(pair->b.qp, pair->a.qp), 0);
	return pair;
}

static struct ib_sge segment(struct pair *pair, struct end *end, u32 offset, u32 len)
{
	return (struct ib_sge){
		.addr = end->dma + offset,
		.length = len,
		.lkey = pair->pd->local_dma_lkey,
	};
}

static void post_recv(struct kunit *test, struct pair *pair, struct end *end, u64 id, u32 len)
{
	struct ib_sge sge = segment(pair, end, 0, len);
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(end->qp, &wr, NULL), 0);
}

static void post(struct kunit *test, struct end *end, struct ib_send_wr *wr)
{
	KUNIT_ASSERT_EQ(test, ib_post_send(end->qp, wr, NULL), 0);
}

static void fill(void *buf, u8 seed)
{
	u8 *bytes = buf;

	for (u32 i = 0; i < LEN; i++)
		bytes[i] = seed + 7 * i;
}

/* Registers the buffer of `end` for its peer under a new key, and returns the key. */
static u32 reg(struct kunit *test, struct end *end)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = 99, .opcode = IB_WR_REG_MR },
		.mr = end->mr,
		.access = ACCESS,
	};

	ib_update_fast_reg_key(end->mr, ib_inc_rkey(end->mr->rkey));
	wr.key = end->mr->rkey;
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(end->mr, &end->sg, 1, NULL, PAGE_SIZE), 1);
	post(test, end, &wr.wr);
	expect(test, end->cq, 99, IB_WC_REG_MR);
	return wr.key;
}

static void test_send(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	struct ib_sge sges[SEGMENTS];
	struct ib_send_wr wr = {
		.wr_id = 1,
		.opcode = IB_WR_SEND_WITH_IMM,
		.sg_list = sges,
		.num_sge = SEGMENTS,
		.ex.imm_data = cpu_to_be32(0x12345678),
	};
	struct ib_wc wc;

	for (int i = 0; i < SEGMENTS; i++)
		sges[i] = segment(pair, &pair->a, i * PAGE_SIZE, PAGE_SIZE);
	fill(pair->a.buf, 1);
	post_recv(test, pair, &pair->b, 2, LEN);
	post(test, &pair->a, &wr);

	expect(test, pair->a.cq, 1, IB_WC_SEND);
	KUNIT_ASSERT_EQ(test, next(pair->b.cq, &wc), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.byte_len, LEN);
	KUNIT_EXPECT_EQ(test, wc.wc_flags & IB_WC_WITH_IMM, IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0x12345678);
	KUNIT_EXPECT_PTR_EQ(test, wc.qp, pair->b.qp);
	KUNIT_EXPECT_MEMEQ(test, pair->a.buf, pair->b.buf, LEN);
}

static void test_write_and_read(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	u32 key = reg(test, &pair->b);
	struct ib_sge sge = segment(pair, &pair->a, 0, LEN);
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
		.rkey = key,
		.remote_addr = pair->b.mr->iova,
	};
	struct ib_wc wc;

	fill(pair->a.buf, 3);
	post(test, &pair->a, &wr.wr);
	expect(test, pair->a.cq, 1, IB_WC_RDMA_WRITE);
	KUNIT_EXPECT_MEMEQ(test, pair->a.buf, pair->b.buf, LEN);

	fill(pair->b.buf, 5);
	wr.wr.opcode = IB_WR_RDMA_READ;
	post(test, &pair->a, &wr.wr);
	expect(test, pair->a.cq, 1, IB_WC_RDMA_READ);
	KUNIT_EXPECT_MEMEQ(test, pair->a.buf, pair->b.buf, LEN);

	fill(pair->a.buf, 7);
	post_recv(test, pair, &pair->b, 2, 0);
	wr.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	wr.wr.ex.imm_data = cpu_to_be32(42);
	post(test, &pair->a, &wr.wr);
	expect(test, pair->a.cq, 1, IB_WC_RDMA_WRITE);
	KUNIT_ASSERT_EQ(test, next(pair->b.cq, &wc), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 42);
	KUNIT_EXPECT_MEMEQ(test, pair->a.buf, pair->b.buf, LEN);
}

static void test_atomics(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	u32 key = reg(test, &pair->b);
	struct ib_sge sge = segment(pair, &pair->a, 0, sizeof(u64));
	struct ib_atomic_wr wr = {
		.wr = {
			.wr_id = 1,
			.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.rkey = key,
		.remote_addr = pair->b.mr->iova,
		.compare_add = 5,
	};
	u64 *value = pair->b.buf, *answer = pair->a.buf;

	*value = 37;
	post(test, &pair->a, &wr.wr);
	expect(test, pair->a.cq, 1, IB_WC_FETCH_ADD);
	KUNIT_EXPECT_EQ(test, *answer, 37);
	KUNIT_EXPECT_EQ(test, *value, 42);

	wr.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
	wr.compare_add = 42;
	wr.swap = 7;
	post(test, &pair->a, &wr.wr);
	expect(test, pair->a.cq, 1, IB_WC_COMP_SWAP);
	KUNIT_EXPECT_EQ(test, *answer, 42);
	KUNIT_EXPECT_EQ(test, *value, 7);

	/* Does not swap what is not equal. */
	post(test, &pair->a, &wr.wr);
	expect(test, pair->a.cq, 1, IB_WC_COMP_SWAP);
	KUNIT_EXPECT_EQ(test, *answer, 7);
	KUNIT_EXPECT_EQ(test, *value, 7);
}

/* Expects that the region of `b` cannot be written to under `key` any more. */
static void expect_no_access(struct kunit *test, struct pair *pair, u32 key)
{
	struct ib_sge sge = segment(pair, &pair->a, 0, 64);
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
		.rkey = key,
		.remote_addr = pair->b.mr->iova,
	};
	struct ib_wc wc;

	post(test, &pair->a, &wr.wr);
	KUNIT_EXPECT_EQ(test, next(pair->a.cq, &wc), IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 1);
}

static void test_remote_invalidate(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	u32 key = reg(test, &pair->b);
	struct ib_sge sge = segment(pair, &pair->a, 0, 64);
	struct ib_send_wr wr = {
		.wr_id = 1,
		.opcode = IB_WR_SEND_WITH_INV,
		.sg_list = &sge,
		.num_sge = 1,
		.ex.invalidate_rkey = key,
	};
	struct ib_wc wc;

	post_recv(test, pair, &pair->b, 2, 64);
	post(test, &pair->a, &wr);
	expect(test, pair->a.cq, 1, IB_WC_SEND);
	KUNIT_ASSERT_EQ(test, next(pair->b.cq, &wc), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wc_flags & IB_WC_WITH_INVALIDATE, IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, key);
	expect_no_access(test, pair, key);
}

static void test_local_invalidate(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	u32 key = reg(test, &pair->b);
	struct ib_send_wr wr = {
		.wr_id = 3,
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = key,
	};

	post(test, &pair->b, &wr);
	expect(test, pair->b.cq, 3, IB_WC_LOCAL_INV);
	expect_no_access(test, pair, key);
}

/* A failed request flushes those behind it, and the queue pair can be used again after a reset. */
static void test_flush_and_reset(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_sge bad = segment(pair, &pair->a, 0, 64), good = bad;
	struct ib_send_wr second = {
		.wr_id = 2,
		.opcode = IB_WR_SEND,
		.sg_list = &good,
		.num_sge = 1,
	};
	struct ib_send_wr first = second;
	struct ib_wc wc;

	bad.lkey = 0xdeadbeef;
	first.wr_id = 1;
	first.sg_list = &bad;
	first.next = &second;
	post_recv(test, pair, &pair->a, 3, 64);
	post(test, &pair->a, &first);
	KUNIT_EXPECT_EQ(test, next(pair->a.cq, &wc), IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 1);
	KUNIT_EXPECT_EQ(test, next(pair->a.cq, &wc), IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, next(pair->a.cq, &wc), IB_WC_WR_FLUSH_ERR);

	KUNIT_ASSERT_EQ(test, ib_modify_qp(pair->a.qp, &attr, IB_QP_STATE), 0);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(pair->b.qp, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(pair->a.cq, 1, &wc), 0);
	KUNIT_ASSERT_EQ(test, connect(pair->a.qp, pair->b.qp), 0);
	KUNIT_ASSERT_EQ(test, connect(pair->b.qp, pair->a.qp), 0);
	post_recv(test, pair, &pair->b, 4, 64);
	post(test, &pair->a, &second);
	expect(test, pair->a.cq, 2, IB_WC_SEND);
	expect(test, pair->b.cq, 4, IB_WC_RECV);
}

/* Completions of one queue pair go away with it, those of another stay in their order. */
static void test_shared_cq(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.send_cq = pair->a.cq,
		.recv_cq = pair->a.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ib_qp *other = ib_create_qp(pair->pd, &init);
	struct ib_sge sge = segment(pair, &pair->a, 0, 64);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ib_wc wc;

	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	KUNIT_EXPECT_EQ(test, connect(other, pair->b.qp), 0);
	for (int i = 0; i < 4; i++) {
		wr.wr_id = 100 + i;
		KUNIT_EXPECT_EQ(test, ib_post_recv(other, &wr, NULL), 0);
		wr.wr_id = i;
		KUNIT_EXPECT_EQ(test, ib_post_recv(pair->a.qp, &wr, NULL), 0);
	}
	KUNIT_EXPECT_EQ(test, ib_modify_qp(other, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(pair->a.qp, &attr, IB_QP_STATE), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(other), 0);
	for (int i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, next(pair->a.cq, &wc), IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
	}
	KUNIT_EXPECT_EQ(test, ib_poll_cq(pair->a.cq, 1, &wc), 0);
}

/* The requests before a bad one are carried out, and the bad one is reported. */
static void test_bad_request(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	struct ib_sge sges[SEGMENTS + 1];
	struct ib_send_wr good = {
		.wr_id = 1,
		.opcode = IB_WR_SEND,
		.sg_list = sges,
		.num_sge = 1,
	};
	struct ib_send_wr bad = good;
	const struct ib_send_wr *bad_wr = NULL;

	if (!is_rust_driver())
		kunit_skip(test, "the C driver does not ring the doorbell then");
	for (int i = 0; i < SEGMENTS + 1; i++)
		sges[i] = segment(pair, &pair->a, 0, 8);
	bad.num_sge = SEGMENTS + 1;
	good.next = &bad;
	post_recv(test, pair, &pair->b, 2, 64);
	KUNIT_EXPECT_EQ(test, ib_post_send(pair->a.qp, &good, &bad_wr), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad_wr, (const struct ib_send_wr *)&bad);
	expect(test, pair->a.cq, 1, IB_WC_SEND);
	expect(test, pair->b.cq, 2, IB_WC_RECV);
}

static void test_refusals(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_sge sge = segment(pair, &pair->a, 0, 8);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };
	struct ib_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ib_srq *srq;
	int ret;

	wr.opcode = IB_WR_RDMA_READ_WITH_INV;
	KUNIT_EXPECT_EQ(test, ib_post_send(pair->a.qp, &wr, NULL), is_rust_driver() ? -EINVAL : 0);
	if (is_rust_driver()) {
		wr.opcode = IB_WR_SEND;
		wr.send_flags = IB_SEND_INLINE;
		KUNIT_EXPECT_EQ(test, ib_post_send(pair->a.qp, &wr, NULL), -EINVAL);
		wr.send_flags = 0;
	}

	/* Nobody takes receive requests out of the queue. */
	for (int i = 0; i < DEPTH; i++)
		KUNIT_EXPECT_EQ(test, ib_post_recv(pair->b.qp, &recv, NULL), 0);
	KUNIT_EXPECT_EQ(test, ib_post_recv(pair->b.qp, &recv, NULL), -ENOMEM);

	KUNIT_ASSERT_EQ(test, ib_modify_qp(pair->a.qp, &attr, IB_QP_STATE), 0);
	wr.opcode = IB_WR_SEND;
	KUNIT_EXPECT_EQ(test, ib_post_send(pair->a.qp, &wr, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_post_recv(pair->a.qp, &recv, NULL), -EINVAL);

	srq = ib_create_srq(pair->pd, &srq_attr);
	ret = PTR_ERR_OR_ZERO(srq);
	KUNIT_EXPECT_EQ(test, ret, -EOPNOTSUPP);
	if (!ret)
		ib_destroy_srq(srq);

	KUNIT_EXPECT_TRUE(test, IS_ERR(ib_alloc_mr(pair->pd, IB_MR_TYPE_MEM_REG, 129)));
}

/* An address handle can be made where nothing may sleep. */
static void test_ah_in_atomic_context(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	const struct ib_gid_attr *sgid = rdma_get_gid_attr(device, PORT, 0);
	struct rdma_ah_attr attr = { .type = rdma_ah_find_type(device, PORT) };
	static DEFINE_SPINLOCK(lock);
	struct ib_ah *ah;

	KUNIT_ASSERT_FALSE(test, IS_ERR(sgid));
	rdma_ah_set_port_num(&attr, PORT);
	rdma_ah_set_grh(&attr, (union ib_gid *)&sgid->gid, 0, sgid->index, 64, 0);
	attr.grh.sgid_attr = sgid;

	spin_lock_irq(&lock);
	ah = rdma_create_ah(pair->pd, &attr, 0);
	if (!IS_ERR(ah))
		rdma_destroy_ah(ah, 0);
	spin_unlock_irq(&lock);
	KUNIT_EXPECT_FALSE(test, IS_ERR(ah));
	rdma_put_gid_attr(sgid);
}

struct sender {
	struct ib_cqe cqe;
	atomic_t done;
	atomic_t failed;
};

static void count(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sender *sender = container_of(wc->wr_cqe, struct sender, cqe);

	if (wc->status != IB_WC_SUCCESS)
		atomic_inc(&sender->failed);
	atomic_inc(&sender->done);
}

/* Sends through completion queues of the core that are polled in `context`, and drains them. */
static void send_many(struct kunit *test, enum ib_poll_context context, unsigned int total)
{
	struct pair *pair = make_pair(test);
	struct sender sender = { .cqe.done = count }, receiver = { .cqe.done = count };
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		/* One request of each queue is for draining. */
		.cap = {
			.max_send_wr = DEPTH + 1,
			.max_recv_wr = DEPTH + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ib_sge from = segment(pair, &pair->a, 0, 64), to = segment(pair, &pair->b, 0, 64);
	struct ib_send_wr wr = {
		.wr_cqe = &sender.cqe,
		.opcode = IB_WR_SEND,
		.sg_list = &from,
		.num_sge = 1,
	};
	struct ib_recv_wr recv = { .wr_cqe = &receiver.cqe, .sg_list = &to, .num_sge = 1 };
	struct ib_cq *cq = ib_alloc_cq(device, NULL, 4 * DEPTH, 0, context);
	unsigned long end = jiffies + msecs_to_jiffies(60 * MSEC_PER_SEC);
	unsigned int posted = 0, received = 0;
	struct ib_qp *a, *b;

	KUNIT_ASSERT_FALSE(test, IS_ERR(cq));
	init.send_cq = cq;
	init.recv_cq = cq;
	a = ib_create_qp(pair->pd, &init);
	b = ib_create_qp(pair->pd, &init);
	if (IS_ERR(a) || IS_ERR(b) || connect(a, b) || connect(b, a)) {
		KUNIT_FAIL(test, "cannot connect");
		goto out;
	}

	while (atomic_read(&sender.done) < total && time_before(jiffies, end)) {
		while (received < total && received - atomic_read(&receiver.done) < DEPTH) {
			if (ib_post_recv(b, &recv, NULL))
				break;
			received++;
		}
		while (posted < received && posted - atomic_read(&sender.done) < DEPTH) {
			if (ib_post_send(a, &wr, NULL))
				break;
			posted++;
		}
		if (context == IB_POLL_DIRECT)
			ib_process_cq_direct(cq, -1);
		else
			usleep_range(50, 100);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&sender.done), total);
	KUNIT_EXPECT_EQ(test, atomic_read(&sender.failed), 0);

	/* After this nothing is outstanding, whatever was posted. */
	for (int i = 0; i < 8; i++)
		received += !ib_post_recv(b, &recv, NULL);
	ib_drain_qp(a);
	ib_drain_qp(b);
	KUNIT_EXPECT_EQ(test, atomic_read(&receiver.done), received);
out:
	if (!IS_ERR(a))
		ib_destroy_qp(a);
	if (!IS_ERR(b))
		ib_destroy_qp(b);
	ib_free_cq(cq);
}

static void test_direct(struct kunit *test)
{
	send_many(test, IB_POLL_DIRECT, 1000);
}

static void test_softirq(struct kunit *test)
{
	send_many(test, IB_POLL_SOFTIRQ, operations);
}

static void test_workqueue(struct kunit *test)
{
	send_many(test, IB_POLL_WORKQUEUE, 1000);
}

/* Arming reports completions that are there already. */
static void test_missed_events(struct kunit *test)
{
	struct pair *pair = make_pair(test);
	struct ib_sge sge = segment(pair, &pair->a, 0, 8);
	struct ib_send_wr wr = { .wr_id = 1, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	enum ib_cq_notify_flags flags = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;

	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(pair->b.cq, flags), 0);
	post_recv(test, pair, &pair->b, 2, 64);
	post(test, &pair->a, &wr);
	expect(test, pair->a.cq, 1, IB_WC_SEND);
	KUNIT_EXPECT_GT(test, ib_req_notify_cq(pair->b.cq, flags), 0);
	expect(test, pair->b.cq, 2, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(pair->b.cq, flags), 0);
}

/* Shutting the port down is refused and does no harm. */
static void test_modify_port(struct kunit *test)
{
	struct ib_port_modify change = {};

	if (!is_rust_driver())
		kunit_skip(test, "the C driver would not work any more");
	KUNIT_EXPECT_EQ(test, ib_modify_port(device, PORT, IB_PORT_SHUTDOWN, &change), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ib_modify_port(device, PORT, 0, &change), 0);
	make_pair(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(test_send),
	KUNIT_CASE(test_write_and_read),
	KUNIT_CASE(test_atomics),
	KUNIT_CASE(test_remote_invalidate),
	KUNIT_CASE(test_local_invalidate),
	KUNIT_CASE(test_flush_and_reset),
	KUNIT_CASE(test_shared_cq),
	KUNIT_CASE(test_bad_request),
	KUNIT_CASE(test_refusals),
	KUNIT_CASE(test_ah_in_atomic_context),
	KUNIT_CASE(test_direct),
	KUNIT_CASE_SLOW(test_softirq),
	KUNIT_CASE(test_workqueue),
	KUNIT_CASE(test_missed_events),
	KUNIT_CASE(test_modify_port),
	{}
};

static int suite_init(struct kunit_suite *suite)
{
	return device ? 0 : -ENODEV;
}

static struct kunit_suite suite = {
	.name = "pvrdma_kverbs",
	.suite_init = suite_init,
	.test_cases = cases,
};

kunit_test_suites(&suite);

static int add_one(struct ib_device *ibdev)
{
	if (ibdev->ops.driver_id != RDMA_DRIVER_VMW_PVRDMA || device)
		return -EOPNOTSUPP;
	device = ibdev;
	return 0;
}

static void remove_one(struct ib_device *ibdev, void *data)
{
	device = NULL;
}

static struct ib_client client = {
	.name = "pvrdma_kverbs_test",
	.add = add_one,
	.remove = remove_one,
};

static int __init pvrdma_kverbs_test_init(void)
{
	return ib_register_client(&client);
}
module_init(pvrdma_kverbs_test_init);

static void __exit pvrdma_kverbs_test_exit(void)
{
	ib_unregister_client(&client);
}
module_exit(pvrdma_kverbs_test_exit);

MODULE_DESCRIPTION("KUnit tests of kernel verbs on a pvrdma device");
MODULE_LICENSE("GPL");
